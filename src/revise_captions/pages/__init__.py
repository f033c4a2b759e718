"""HTML pages: one layout, one stylesheet, and the charts' macros, for every page we write.

A page is a template that extends `base.html.j2`. Text from outside is escaped, characters that a
browser would obey or hide are spelled out, and the content policy allows the page's own style and
script alone (`templating`).
"""
