export REDOUBT_URL=https://redoubt.example
export REDOUBT_TOKEN=YOUR_TOKEN
redoubt ci --no-semgrep --report report.sarif
