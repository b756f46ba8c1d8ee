pipx install semgrep==1.180.0
export SEMGREP_URL=https://redoubt.example
export SEMGREP_APP_TOKEN=YOUR_TOKEN
export SEMGREP_SEND_METRICS=off SEMGREP_ENABLE_VERSION_CHECK=0
semgrep ci --oss-only --no-suppress-errors
