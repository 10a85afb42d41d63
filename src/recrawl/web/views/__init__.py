"""What is shown, as plain records: asked from the store and computed here, written as HTML or JSON elsewhere."""
