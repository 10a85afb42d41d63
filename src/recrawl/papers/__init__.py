"""The papers, reproduced: every table and figure, published beside measured.

A paper is a module with a function ``reproduce(quick, seed, progress) -> Reproduction``, listed in
:mod:`recrawl.papers.registry`. It computes and says what it found; `write` puts the findings of one paper or of many
into a directory: ``report.html``, ``results.json`` and ``figures/``.
"""
