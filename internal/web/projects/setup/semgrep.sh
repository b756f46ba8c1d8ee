printf 'Token: ' && read -rs SEMGREP_APP_TOKEN && export SEMGREP_APP_TOKEN
pipx install semgrep==1.180.0
export SEMGREP_URL=https://redoubt.example
export SEMGREP_SEND_METRICS=off SEMGREP_ENABLE_VERSION_CHECK=0
semgrep ci --oss-only --no-suppress-errors
