"""The papers, reproduced: every table and figure, published beside measured."""
