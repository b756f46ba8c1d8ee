gh secret set REDOUBT_TOKEN --body YOUR_TOKEN
