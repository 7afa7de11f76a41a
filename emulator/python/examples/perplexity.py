"""Perplexity of a quantized checkpoint in a GPU's bits beside the original, by lm-eval (0.4.13), which pip installs.

    python perplexity.py ORIGINAL QUANTIZED --arch b200 --text lines.jsonl [--limit 8]

ORIGINAL: a folder of a hub with its tokenizer. QUANTIZED: what mt.load() takes. --text: a document per line, {"text": ...}:
the task is made here, so nothing is downloaded. lm-eval's own go by their names, without task_manager: tasks=["wikitext"].
"""
import argparse

from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from transformers import AutoModelForCausalLM, AutoTokenizer

import mmaudit.torch as mt


def task(text):
    metrics = [{"metric": one} for one in ("word_perplexity", "byte_perplexity", "bits_per_byte")]
    return {"task": "text", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": text}}, "test_split": "test",
            "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}", "metric_list": metrics}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("original")
    parser.add_argument("quantized")
    parser.add_argument("--arch", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    words = AutoTokenizer.from_pretrained(given.original)
    for name, net in (("original", AutoModelForCausalLM.from_pretrained(given.original)),
                      ("quantized", mt.load(given.quantized, given.arch))):
        model = HFLM(pretrained=net, tokenizer=words, device="cpu")
        found = simple_evaluate(model, tasks=[task(given.text)], task_manager=TaskManager(include_defaults=False),
                                limit=given.limit, bootstrap_iters=0)["results"]["text"]
        print(name, *(f"{key.partition(',')[0]} {value:.6g}" for key, value in found.items() if isinstance(value, float)))


if __name__ == "__main__":
    main()
