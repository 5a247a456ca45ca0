"""Inputs that change faster than steps: functions of time and thin springs between stages."""
