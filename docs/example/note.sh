#!/bin/sh
# A tool in any language: its arguments come as JSON on standard input, what it writes is the result.
echo "noting it down" >&2
read -r arguments
echo "noted: $arguments"
