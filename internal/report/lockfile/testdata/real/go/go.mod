module acme.example/gateway

go 1.20

require (
	github.com/dgrijalva/jwt-go v3.2.0+incompatible
	github.com/gorilla/mux v1.7.4
	gopkg.in/yaml.v2 v2.2.2
)
