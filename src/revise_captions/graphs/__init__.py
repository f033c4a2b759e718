"""Scene graphs from text: objects, attributes, relations, each with its place in the text.

    from revise_captions.graphs.parse import parse

    (graph,) = parse(["A man in a red hat feeds two horses."])
    graph.triples()

`dependencies` reads a dependency parse of either label scheme, `extract` turns it into a graph by
`rules`, in four passes. `bundled` holds the spaCy pipeline.
"""
