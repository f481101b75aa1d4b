"""Pure room: tensors and time; no files, no learning."""
