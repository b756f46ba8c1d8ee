export REDOUBT_URL=https://redoubt.example
redoubt ci
