glab variable set REDOUBT_TOKEN YOUR_TOKEN --masked
