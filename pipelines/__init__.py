"""The commands, chief among them the main job, `revise-captions`: records in, revisions out.

`cli` parses its options (`options`), `api` offers it as a function, `job` does the work, `output`
writes rows, `report` tells what happened, `verify` checks the revisions. The other packages are
the other commands, and the main job needs none of them: `annotate`, `benchmarks`, `engine_check`,
`metrics`, `rating`, `verify_revisions`.
"""
