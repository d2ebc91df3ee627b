"""llama.cpp's own server on 127.0.0.1, with one slot: serve.py MODEL.gguf PORT CONTEXT. Runs until it is killed."""

import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_ctx = int(sys.argv[3])
params.n_parallel = 1
params.n_gpu_layers = 0
# More threads than free cores spend their time waiting for each other.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.endpoint_metrics = True
params.use_jinja = True
params.warmup = False
server = xllamacpp.Server(params)
print("ready", flush=True)
signal.pause()
