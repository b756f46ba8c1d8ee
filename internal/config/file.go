package config

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Load returns a resolver for a YAML (or JSON) configuration file: a flat map from flag names, as
// database_url or database-url, to values. Flags and environment variables have precedence. A key
// without a flag is an error, so that misspelled keys are detected.
func Load(r io.Reader) (kong.Resolver, error) {
	values := map[string]any{}
	if err := yaml.NewDecoder(r).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the configuration file is not a YAML map of settings: %w", err)
	}
	file := fileResolver{}
	for key, value := range values {
		file[strings.ReplaceAll(key, "_", "-")] = value
	}
	return file, nil
}

// flags returns an iterator over the flags of all commands.
func flags(app *kong.Application) iter.Seq[*kong.Flag] {
	return func(yield func(*kong.Flag) bool) {
		_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
			if flag, ok := node.(*kong.Flag); ok && !yield(flag) {
				return errStop
			}
			return next(nil)
		})
	}
}

var errStop = errors.New("no more flags are needed")

type fileResolver map[string]any

// Validate rejects keys without a flag.
func (f fileResolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for flag := range flags(app) {
		known[flag.Name] = true
	}
	var unknown []string
	for key := range f {
		if !known[key] {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("the configuration file has unknown settings: %s", strings.Join(unknown, ", "))
	}
	return nil
}

// Resolve returns the value in the file unless the environment variable is set. The parser itself
// would give the file precedence. An empty path in the environment counts as unset.
func (f fileResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, env := range flag.Envs {
		if value, set := os.LookupEnv(env); set && (value != "" || flag.Tag.Type != "path") {
			return nil, nil
		}
	}
	value, ok := f[flag.Name]
	if !ok {
		return nil, nil
	}
	if list, ok := value.([]any); ok {
		words := make([]string, len(list))
		for i, v := range list {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, ","), nil
	}
	return fmt.Sprint(value), nil
}
