"""Scene graphs from text: objects, attributes, relations, each with its place in the text.

    from revise_captions.graphs.parse import parse

    (graph,) = parse(["A man in a red hat feeds two horses."])
    graph.triples()

`nodes` reads a parse of either label scheme, `extract` makes the graph of it in four passes.
`train_parser` trains the parser in `bundled`.
"""
