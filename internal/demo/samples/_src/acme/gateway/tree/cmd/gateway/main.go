// Command gateway routes and guards the calls to every service.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/gorilla/mux"
	"gopkg.in/yaml.v2"

	"acme.example/gateway/internal/audit"
	"acme.example/gateway/internal/auth"
	"acme.example/gateway/internal/proxy"
)

type config struct {
	Listen string            `yaml:"listen"`
	Routes map[string]string `yaml:"routes"`
}

func load(path string) (config, error) {
	var c config
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	return c, yaml.Unmarshal(text, &c)
}

func main() {
	c, err := load("gateway.yaml")
	if err != nil {
		log.Fatal(err)
	}
	r := mux.NewRouter()
	for prefix, target := range c.Routes {
		r.PathPrefix(prefix).Handler(auth.Require(proxy.To(target)))
	}
	r.HandleFunc("/admin/trace", proxy.Trace)
	r.HandleFunc("/admin/calls", audit.Calls)
	log.Fatal(http.ListenAndServe(c.Listen, r))
}
