"""The commands; at their head the main job, `revise-captions`: records in, revisions out.

    cli ─ options ─ run ┬ inputs ─ local_runner or ray_runner ─ journal ─ writers
                        │          └ revise, a window ─ loop, its captions ─ verify
                        ├ models       from options to critic and reviser
                        ├ dry_run      what a run would do
                        └ report       what it did
    api                 the same as a function, on a stream of records

`rows` and `outcomes` are what stands in a row of the output. Commands of one or two modules stand
beside them: `benchmarks`, `check_engine`, `merge`. The others are packages, and the main job needs
none of them but `report` and `verify`: `annotate`, `evaluation`, `metrics`, `rating`.
"""
