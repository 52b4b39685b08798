"""From values to cells: bins of numbers, counts of cells, the fields of a CSV file."""
