"""``tfrec convert``: flags to a request, progress while it runs, a summary at the end."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tfrec_tools import worker_start
from tfrec_tools.cli.source_flags import source_options, source_values
from tfrec_tools.errors import MissingDependencyError, RequestError

if TYPE_CHECKING:
    from tfrec_tools.local_engine import OnProgress, Progress
    from tfrec_tools.manifest import Manifest
    from tfrec_tools.request import Request


LOCAL = "local"


class ConvertCommand(click.Command):
    """Takes options that it does not know only where they are a runner's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse strictly, unless ``--runner`` names one of Beam's."""
        given = [
            value if flag == "--runner" else flag.partition("=")[2]
            for flag, value in zip(args, [*args[1:], ""], strict=True)
            if flag == "--runner" or flag.startswith("--runner=")
        ]
        if given and given[-1] != LOCAL:
            ctx.ignore_unknown_options = ctx.allow_extra_args = True
        return super().parse_args(ctx, args)


@click.command(
    "convert", cls=ConvertCommand, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument("source")
@click.argument("output")
@click.option(
    "--kind",
    type=click.Choice(["images", "csv", "table", "text"]),
    help="What SOURCE is: images, CSV, Parquet and JSON lines, or text. By default its files tell.",
)
@click.option(
    "--schema",
    metavar="FILE",
    help="YAML schema. By default image, label and filename; of tables every column; of text the "
    "text, and of documents their label.",
)
@click.option(
    "--splits", metavar="NAME=RATIO,…", help="Share per split, such as train=0.8,test=0.2."
)
@click.option(
    "--split",
    "split_files",
    metavar="NAME=GLOB",
    multiple=True,
    help="Files of one split, such as test='fold1/**'. May be repeated.",
)
@click.option("--split-by", metavar="COLUMN", help="With --splits: equal values stay in one split.")
@click.option(
    "--split-method",
    type=click.Choice(["hash", "order"]),
    default="hash",
    show_default=True,
    help="With --splits: divide at random, or a table in its own order (by time).",
)
@click.option(
    "--stratify", metavar="FEATURE", help="With --splits: divide every class in these ratios."
)
@click.option(
    "--splits-from", metavar="DATASET", help="Divide as this dataset was, with its class names."
)
@click.option(
    "--num-shards",
    metavar="N",
    help="Shards per split, or train=16,test=2. By default one per 128 MiB, for small data more.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of order and splits.")
@click.option(
    "--order",
    type=click.Choice(["shuffled", "source"]),
    default="shuffled",
    show_default=True,
    help="Shuffled over the whole dataset, or sorted by path.",
)
@click.option(
    "--check",
    type=click.Choice(["decode", "header"]),
    default="decode",
    show_default=True,
    help="Decode every image once, or trust its header and end marker (faster).",
)
@click.option(
    "--labels/--no-labels", default=None, help="Whether folders are classes. By default they are."
)
@click.option(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Paths to leave out, such as 'masks/**'. May be repeated.",
)
@source_options
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="List up to 20 bad inputs and write nothing, or leave them out and report them.",
)
@click.option("--max-errors", type=int, metavar="N", help="With --on-error skip: at most so many.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first bad input.")
@click.option(
    "--compression",
    type=click.Choice(["gzip"]),
    help="Smaller, but without random access and readable by TensorFlow only.",
)
@click.option("--name", help="The dataset's name; by default the source's.")
@click.option("--overwrite", is_flag=True, help="Replace the dataset in OUTPUT.")
@click.option(
    "--spill-dir",
    metavar="DIR",
    help="Where tables and lines are put while they are shuffled. By default in OUTPUT.",
)
@click.option("--workers", type=int, metavar="N", help="Processes; by default one per core.")
@click.option(
    "--runner",
    metavar="RUNNER",
    default=LOCAL,
    show_default=True,
    help="The engine: this machine's processes, or a runner of Apache Beam, such as FnApiRunner or "
    "DataflowRunner, with its own options behind SOURCE and OUTPUT.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
@click.pass_context
def convert_command(
    ctx: click.Context,
    /,
    *,
    source: str,
    output: str,
    workers: int | None,
    runner: str,
    dry_run: bool,
    quiet: bool,
    split_files: tuple[str, ...],
    **options: Any,
) -> None:
    """Convert the images, tables or texts in SOURCE to TFRecord shards in OUTPUT.

    SOURCE is a folder of images (or a URL such as gs://bucket/images) laid out
    as class/…/image or split/class/…/image; or a CSV, Parquet, JSON lines or
    text file, a folder of such, or a pattern such as 'data/*.csv'. Text files
    in class folders are labelled documents; of others, each line is a record.
    OUTPUT is a new or empty folder. The same command run again goes on where
    an interrupted one ended.
    """
    if source.startswith("--"):
        raise click.UsageError(f"options of Beam come behind SOURCE and OUTPUT (got {source})")
    worker_start.before_numpy()
    if runner == LOCAL and workers != 1:
        worker_start.start_early(source)
    # Only now what imports NumPy and pyarrow: the workers' server imports them meanwhile.
    from tfrec_tools import request_parsing
    from tfrec_tools.cli.summaries import manifest_summary

    worker_start.tune_own_process()
    request = request_parsing.make_request(
        source,
        output,
        split_files=request_parsing.named_globs(split_files),
        **source_values(options),
        **options,
    )
    if workers is not None and workers < 1:
        raise RequestError(f"--workers must be at least 1 (got {workers})")
    with _progress(request, shown=not quiet and sys.stderr.isatty()) as on_progress:
        if dry_run:
            text = _dry_run(request, on_progress)
        else:
            notes: list[str] = []
            if runner == LOCAL:
                manifest = _convert(request, workers, on_progress, notes)
            else:
                manifest = _convert_on_beam(request, runner, workers, ctx.args)
            summary = manifest_summary(manifest, output, request.source.kind)
            text = "\n".join([summary, *notes])
    if not quiet:
        click.echo(text)


def _dry_run(request: Request, on_progress: OnProgress | None) -> str:
    from tfrec_tools import local_engine
    from tfrec_tools.cli.summaries import plan_summary, table_summary

    if request.reads_files:
        return plan_summary(local_engine.plan_conversion(request, on_progress=on_progress))
    _, plan = local_engine.plan_table(
        request, num_workers=local_engine.available_cpus(), on_progress=on_progress
    )
    return table_summary(plan)


def _convert(
    request: Request, workers: int | None, on_progress: OnProgress | None, notes: list[str]
) -> Manifest:
    from tfrec_tools import local_engine

    return local_engine.convert(
        request,
        num_workers=workers,
        on_progress=on_progress,
        on_plan=lambda plan: notes.extend(f"Note: {note}" for note in plan.layout.notes),
    )


def _convert_on_beam(
    request: Request, runner: str, workers: int | None, beam_args: list[str]
) -> Manifest:
    if workers is not None:
        raise RequestError("--workers goes with --runner local")
    logging.disable(logging.WARNING)  # Beam warns at its import of Google packages it lacks
    try:
        from beam_jobs import running
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"--runner {runner} needs Apache Beam ({error.name} is not installed); "
            "pip install 'tfrec-tools[beam]'"
        ) from None
    finally:
        logging.disable(logging.NOTSET)
    return running.run(request, runner=runner, args=beam_args)


@contextlib.contextmanager
def _progress(request: Request, *, shown: bool) -> Iterator[OnProgress | None]:
    """Show a bar on the terminal: files or records, MB/s and rejected inputs."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread of its own: progress comes often enough
    unit, first = (" files", "listing") if request.reads_files else (" records", "looking through")
    with tqdm(unit=unit, dynamic_ncols=True, desc=first, leave=False) as bar:

        def show(progress: Progress) -> None:
            if progress.total_files is not None and bar.total is None:
                bar.set_description("converting", refresh=False)
                bar.reset(total=progress.total_files)
            bar.n = progress.num_files
            if bar.total is not None:
                elapsed_s = bar.format_dict["elapsed"] or 1e-9
                rate = progress.num_bytes / 1e6 / elapsed_s
                rejected = f", {progress.num_rejected} rejected" if progress.num_rejected else ""
                bar.set_postfix_str(f"{rate:.0f} MB/s{rejected}", refresh=False)
            bar.refresh()

        yield show
