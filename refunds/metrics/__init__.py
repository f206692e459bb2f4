"""The operator's numbers: ``readings`` says what is read from which rows, ``collector`` reads it."""
