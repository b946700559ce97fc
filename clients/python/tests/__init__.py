"""Tests of ferry_client: python3 -m unittest, in clients/python. test_node.py needs ferry's binary, in FERRY."""
