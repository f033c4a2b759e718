"""From nodes to a scene graph, pass by pass: things, coreference, attributes, relations."""
