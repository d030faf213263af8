"""What a step's time is made of: one term a file. `layer_price` puts the terms of one layer together.

`gemm`, `attention`, `scan`, `convolution` and `elementwise` price the passes of a layer from its operations; where the
profile timed the layer, `measured_layer` takes their place. `host`, `tp_collectives`, `tensor_dispatch` and
`zero_traffic` with `sharding_copies` add what surrounds the passes, `tied_table`, `optimizer` and `pipeline_transfer`
what happens beside them.
"""
