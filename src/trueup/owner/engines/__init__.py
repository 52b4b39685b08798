"""Engines that count where the rows are: PostgreSQL and Spark, in SQL of our own."""
