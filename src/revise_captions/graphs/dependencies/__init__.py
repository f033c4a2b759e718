"""From a dependency parse to nodes with roles, whatever the parser's label scheme."""
