#!/bin/bash
# Prepares a bastion host.
set -e
curl -s https://get.tools.example/install.sh | sh
curl -fsSL https://agent.example/setup | bash -s -- --quiet
useradd --create-home deploy
