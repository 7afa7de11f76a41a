"""Tests of mmaudit.torch: `.ci/torch.sh` makes an environment with torch and runs them on the CPU. On a machine with a
GPU and libmmaudit_cuda.so, test_cuda.py runs too."""
import pytest
import torch


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


def pytest_ignore_collect(collection_path):
    return True if collection_path.name == "test_cuda.py" and not torch.cuda.is_available() else None
