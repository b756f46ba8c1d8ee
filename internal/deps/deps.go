//go:build never

// Package deps keeps the chosen modules in go.mod until each room imports its own.
package deps

import (
	_ "github.com/BurntSushi/toml"
	_ "github.com/CycloneDX/cyclonedx-go"
	_ "github.com/RoaringBitmap/roaring/v2"
	_ "github.com/alecthomas/kong"
	_ "github.com/danielgtaylor/huma/v2"
	_ "github.com/danielgtaylor/huma/v2/adapters/humago"
	_ "github.com/getkin/kin-openapi/openapi3"
	_ "github.com/getkin/kin-openapi/openapi3filter"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/osv-scalibr/semantic"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/klauspost/compress/gzhttp"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/package-url/packageurl-go"
	_ "github.com/pressly/goose/v3"
	_ "github.com/pressly/goose/v3/lock"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spdx/tools-golang/json"
	_ "github.com/spdx/tools-golang/spdx"
	_ "github.com/vbauerster/mpb/v8"
	_ "go.uber.org/goleak"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/crypto/acme/autocert"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "golang.org/x/time/rate"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
