"""Predicted against measured: the step times of a run in the predicted interval, its losses and memory peaks."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from costmodel import units
from costmodel.spec import Measurement, Prediction
from reports import sentences, svg
from reports.section import Answer, Drawing, Paragraph, Section, Table, Tone
from reports.svg import Colour

_COUNTERS = {
    "allocated": "allocated by the CUDA caching allocator",
    "resident": "resident memory that the process gained since before the model was built",
}


def build(answer: Answer) -> Section | None:
    """Verdict, three figures and the numbers; None where there was no run."""
    measurement, prediction = answer.measurement, answer.plan_file.prediction
    if measurement is None:
        return None
    return Section(
        slug="measured",
        title="Predicted against measured",
        paragraphs=(
            Paragraph(_time_verdict(measurement, prediction), Tone.GOOD if measurement.within_interval else Tone.BAD),
            *(
                Paragraph(text)
                for text in (_memory_verdict(measurement, prediction), _loss_verdict(measurement))
                if text
            ),
        ),
        drawings=(_step_times(answer, measurement), _losses(answer, measurement), _memory(answer, measurement)),
        tables=(_summary(measurement, prediction), _steps(measurement)),
    )


def _difference(measured: float, predicted: float) -> str:
    """Measured against predicted, e.g. `4.2 % more than predicted`."""
    share = measured / predicted - 1
    return f"{units.format_frac(abs(share))} {'more' if share >= 0 else 'less'} than predicted"


def _time_verdict(measurement: Measurement, prediction: Prediction) -> str:
    counted = len(measurement.step_times_s) - measurement.num_warmup_steps
    place = "lies within" if measurement.within_interval else "lies outside"
    return (
        f"The measured median step time, {units.format_seconds(measurement.step_time_median_s)} over {counted} steps, "
        f"{place} the predicted interval of {sentences.step_interval(prediction)}. It is "
        f"{_difference(measurement.step_time_median_s, prediction.step_time_s)} "
        f"({units.format_seconds(prediction.step_time_s)}); {measurement.num_warmup_steps} warm-up steps are left out."
    )


def _memory_verdict(measurement: Measurement, prediction: Prediction) -> str:
    peak = max(measurement.peak_memory_bytes)
    interval = units.format_bytes_range(prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes)
    inside = prediction.peak_memory_low_bytes <= peak <= prediction.peak_memory_high_bytes
    counter = _COUNTERS.get(measurement.memory_counter, measurement.memory_counter)
    return (
        f"The highest measured peak memory, {units.format_bytes(peak)} on rank "
        f"{measurement.peak_memory_bytes.index(peak)}, lies {'within' if inside else 'outside'} the predicted interval "
        f"of {interval}. It is {_difference(peak, prediction.peak_memory_bytes)}. Counted: {counter}."
    )


def _loss_verdict(measurement: Measurement) -> str:
    if len(measurement.losses) < 2:
        return ""
    first, last = measurement.losses[0], measurement.losses[-1]
    verb = "fell" if last < first else "did not fall"
    return f"The loss {verb}: {first:.4f} in the first and {last:.4f} in the last of {len(measurement.losses)} steps."


def _step_times(answer: Answer, measurement: Measurement) -> Drawing:
    prediction = answer.plan_file.prediction
    unit, factor = units.second_unit(prediction.step_time_s)
    times = [time_s / factor for time_s in measurement.step_times_s]
    warmup = measurement.num_warmup_steps

    def paint(figure: Figure, narrow: bool) -> None:
        axes = figure.subplots()
        low, high = prediction.step_time_low_s / factor, prediction.step_time_high_s / factor
        axes.axhspan(low, high, color=Colour.BAND, label="predicted interval", zorder=0)
        axes.axhline(prediction.step_time_s / factor, color=Colour.GREEN, linewidth=1.5, label="predicted")
        median = measurement.step_time_median_s / factor
        axes.axhline(median, color=Colour.BLUE, linewidth=1.2, linestyle="--", label="measured median")
        steps = range(len(times))
        if warmup:
            axes.plot(steps[:warmup], times[:warmup], "o", color=Colour.GREY, markersize=5, label="warm-up step")
        axes.plot(steps[warmup:], times[warmup:], "o", color=Colour.BLUE, markersize=6, label="measured step")
        axes.set_ylim(0, 1.08 * max(high, *times))
        _label(axes, "step", f"step time in {unit}")
        figure.legend(loc="outside lower left", ncols=2 if narrow else 5, handlelength=1.4)

    return svg.draw(
        "Step times of the run in the predicted interval",
        f"{_time_verdict(measurement, prediction)} The table of steps holds every number of this figure.",
        f"{answer.anchor}-steps-figure",
        paint,
        (300, 290),
    )


def _losses(answer: Answer, measurement: Measurement) -> Drawing:
    def paint(figure: Figure, narrow: bool) -> None:  # noqa: ARG001
        axes = figure.subplots()
        axes.plot(range(len(measurement.losses)), measurement.losses, "o-", color=Colour.BLUE, markersize=4)
        _label(axes, "step", "loss")

    return svg.draw(
        "Loss of each step",
        f"{_loss_verdict(measurement)} The table of steps holds every number of this figure.",
        f"{answer.anchor}-losses-figure",
        paint,
        (220, 220),
    )


def _memory(answer: Answer, measurement: Measurement) -> Drawing:
    prediction, peaks = answer.plan_file.prediction, measurement.peak_memory_bytes
    unit, factor = units.byte_unit(max(*peaks, prediction.peak_memory_high_bytes))

    def paint(figure: Figure, narrow: bool) -> None:
        axes = figure.subplots()
        low, high = prediction.peak_memory_low_bytes / factor, prediction.peak_memory_high_bytes / factor
        axes.axhspan(low, high, color=Colour.BAND, label="predicted interval, worst rank", zorder=0)
        predicted = prediction.peak_memory_bytes / factor
        axes.axhline(predicted, color=Colour.GREEN, linewidth=1.5, label="predicted, worst rank")
        measured = [peak / factor for peak in peaks]
        axes.plot(range(len(peaks)), measured, "o", color=Colour.BLUE, markersize=7, label="measured")
        axes.set_xlim(-0.6, len(peaks) - 0.4)
        axes.set_ylim(0, 1.08 * max(high, *measured))
        _label(axes, "rank", f"peak memory in {unit}")
        figure.legend(loc="outside lower left", ncols=1 if narrow else 3, handlelength=1.4)

    return svg.draw(
        "Peak memory of each rank against the prediction for the worst one",
        _memory_verdict(measurement, prediction),
        f"{answer.anchor}-peaks-figure",
        paint,
        (260, 260),
    )


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.set_ylabel(y)
    axes.grid(axis="y")


def _summary(measurement: Measurement, prediction: Prediction) -> Table:
    peak = max(measurement.peak_memory_bytes)
    rows = (
        (
            "Step time",
            units.format_seconds(prediction.step_time_s),
            sentences.step_interval(prediction),
            units.format_seconds(measurement.step_time_median_s),
            _difference(measurement.step_time_median_s, prediction.step_time_s),
        ),
        (
            "Peak memory",
            units.format_bytes(prediction.peak_memory_bytes),
            units.format_bytes_range(prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes),
            units.format_bytes(peak),
            _difference(peak, prediction.peak_memory_bytes),
        ),
    )
    return Table(
        caption="Predicted and measured",
        columns=("Quantity", "Predicted", "Interval", "Measured", "Difference"),
        rows=rows,
        numeric=frozenset({1, 2, 3}),
    )


def _steps(measurement: Measurement) -> Table:
    warmup = measurement.num_warmup_steps
    return Table(
        caption="Every step of the run",
        columns=("Step", "Step time", "Loss", "Counted"),
        rows=tuple(
            (str(step), units.format_seconds(time_s), f"{loss:.4f}", "warm-up" if step < warmup else "yes")
            for step, (time_s, loss) in enumerate(zip(measurement.step_times_s, measurement.losses, strict=True))
        ),
        numeric=frozenset({0, 1, 2}),
        folded=True,
    )
