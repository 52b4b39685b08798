"""Least squares on trees and wavelets, and sums that add up with ==."""
