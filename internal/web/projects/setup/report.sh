printf 'Token: ' && read -rs REDOUBT_TOKEN && export REDOUBT_TOKEN
export REDOUBT_URL=https://redoubt.example
redoubt ci --no-semgrep --report report.sarif
