"""Draws the growth of a claim's cost: `plot.py FIGURES.json PICTURE.svg`, run in .venv-peers."""

import json
import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure


def main(figures: Path, picture: Path) -> None:
    mpl.rcParams["svg.hashsalt"] = "queuelog"
    told = json.loads(figures.read_text("utf-8"))
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for line in told:
        axes.plot(line["rows"], line["microseconds"], line["style"], label=line["name"])
    axes.set(xscale="log", yscale="log", xlabel="jobs in front", ylabel="CPU time of a claim, µs")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
