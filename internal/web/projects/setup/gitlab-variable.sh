printf 'Token: ' && read -rs TOKEN && printf %s "$TOKEN" | glab variable set REDOUBT_TOKEN --masked
