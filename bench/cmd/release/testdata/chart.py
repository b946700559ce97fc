"""Lints a Helm chart with Helm's own code, renders it, and checks each manifest against the schema of its kind.

    chart.py CHART VALUES...

Each of VALUES is a JSON object. The output is a JSON array with the manifests for each, by the name of the template. The exit status is 1
if anything is wrong.
"""
import json
import sys

import helm_python as helm
import kubernetes_validate
import yaml

KUBERNETES = "1.37"
NO_SCHEMA = {"ServiceMonitor"}  # of the Prometheus operator, not of Kubernetes
INFO = 1  # a severity of lint

wrong = 0


def complain(text):
    global wrong
    wrong = 1
    print(text, file=sys.stderr)


chart, *all_values = sys.argv[1:]
output = []
for values in map(json.loads, all_values):
    for message in helm.lint(chart, values=values, strict=True, namespace="ferry")["messages"]:
        if message["severity"] > INFO:
            complain(f"lint with {values}: {message}")
    with helm.Chart.load(chart) as c:
        rendered = c.render(values, name="ferry", namespace="ferry")
    manifests = {}
    for path, text in rendered.items():
        for document in yaml.safe_load_all(text) if path.endswith(".yaml") else ():
            if document is None:
                continue
            manifests[path.rsplit("/", 1)[1]] = text.strip("\n") + "\n"
            if document["kind"] in NO_SCHEMA:
                continue
            try:
                kubernetes_validate.validate(document, KUBERNETES, strict=True)
            except kubernetes_validate.ValidationError as e:
                complain(f"{path} with {values}: {e}")
    output.append(manifests)
json.dump(output, sys.stdout)
sys.exit(wrong)
