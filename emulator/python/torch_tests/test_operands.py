def test_none() -> None:
    pass
