package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// SecretsFromFiles sets unset secret environment variables from the files named by NAME_FILE,
// because container platforms provide secrets as files. The variables are those of all flags of
// type Secret. It returns an error if a file cannot be read or both variables are set.
func SecretsFromFiles(app *kong.Application) error {
	for _, name := range secretVariables(app) {
		path, ok := os.LookupEnv(name + "_FILE")
		if !ok || path == "" {
			continue
		}
		if _, set := os.LookupEnv(name); set {
			return fmt.Errorf("%s and %s_FILE are both set; remove one", name, name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s_FILE: %w", name, err)
		}
		if err := os.Setenv(name, strings.TrimSpace(string(text))); err != nil {
			return fmt.Errorf("%s_FILE: %w", name, err)
		}
	}
	return nil
}

// secretVariables returns the names of the environment variables of flags of type Secret.
func secretVariables(app *kong.Application) (names []string) {
	for flag := range flags(app) {
		if flag.Target.Type() == reflect.TypeFor[Secret]() {
			names = append(names, flag.Envs...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UnknownVariables returns the names of set environment variables that begin with REDOUBT_ and that
// no command reads, in alphabetical order. They are not errors: container platforms set some
// themselves, as REDOUBT_SERVICE_HOST for a service named redoubt.
func UnknownVariables(app *kong.Application) (names []string) {
	known := map[string]bool{}
	for flag := range flags(app) {
		for _, name := range flag.Envs {
			known[name] = true
		}
	}
	for _, name := range secretVariables(app) {
		known[name+"_FILE"] = true
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "REDOUBT_") && !known[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
