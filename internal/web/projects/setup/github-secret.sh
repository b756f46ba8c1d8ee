gh secret set REDOUBT_TOKEN
