package house

import "strings"

const modulePath = "github.com/redoubt/redoubt"

// room is a folder of the house: a package, with the packages below it.
type room struct {
	path    string   // from the module's root
	imports []string // the rooms whose packages its code may import; its own and the standard library always
	stdOnly bool     // nothing from other modules
	clock   bool     // may ask for the time and read the environment, which the others are handed
}

// nouns is what a room may import that works on the nouns alone and declares the storage it needs as an interface.
var nouns = []string{"internal/model"}

// adapters is what the rooms that speak to the outside may import.
var adapters = []string{
	"internal/model", "api", "internal/auth", "internal/redact", "internal/report", "internal/conceal", "internal/ingest", "internal/triage", "internal/exceptions", "internal/index", "internal/advisory",
	"internal/policy", "internal/sbom", "internal/export", "internal/store", "internal/config", "internal/queue", "internal/version", "internal/edge", "internal/glob", "internal/purl", "internal/weblink", "internal/scm", "internal/hosts", "internal/ticket", "internal/notify", "internal/globalsearch", "internal/about",
}

// rooms is the import table of ARCHITECTURE.md. A room may stand here before it is built.
var rooms = []room{
	{path: "internal/model", stdOnly: true},
	{path: "internal/about", stdOnly: true},
	{path: "api", stdOnly: true},

	{path: "internal/redact", stdOnly: true},
	{path: "internal/report", imports: []string{"internal/model", "internal/purl", "internal/redact", "internal/weakness"}},
	{path: "internal/align"},
	{path: "internal/conceal", imports: nouns},
	{path: "internal/ingest", imports: []string{"internal/model", "internal/align", "internal/purl", "internal/redact", "internal/weblink"}},
	{path: "internal/triage", imports: []string{"internal/model", "internal/redact"}},
	{path: "internal/ticket", imports: nouns},
	{path: "internal/exceptions", imports: []string{"internal/model", "internal/glob", "internal/purl", "internal/redact"}},
	{path: "internal/index", imports: nouns},
	{path: "internal/advisory", imports: []string{"internal/model", "internal/purl", "internal/weakness"}},
	{path: "internal/policy", imports: []string{"internal/model", "internal/glob"}},
	{path: "internal/sbom", imports: []string{"internal/model", "internal/purl"}},
	{path: "internal/export", imports: []string{"internal/model", "api", "internal/index"}},
	{path: "internal/glob", stdOnly: true},
	{path: "internal/version"},
	{path: "internal/purl"},
	{path: "internal/weakness", stdOnly: true},
	{path: "internal/weblink", stdOnly: true},
	{path: "internal/auth", imports: nouns},
	{path: "internal/queue", imports: nouns},
	{path: "internal/scm", imports: nouns},
	{path: "internal/ci", imports: nouns, stdOnly: true},
	{path: "internal/demo", imports: nouns, stdOnly: true},

	{path: "internal/store", imports: []string{"internal/model", "internal/version"}},
	{path: "internal/config", imports: nouns, clock: true},

	{path: "internal/keyring", stdOnly: true},

	{path: "internal/edge", imports: []string{"internal/model", "internal/auth", "internal/ingest", "internal/policy", "internal/store"}},
	{path: "internal/hosts", imports: []string{"internal/model", "internal/auth", "internal/edge", "internal/exceptions", "internal/policy", "internal/queue", "internal/scm", "internal/store", "internal/ticket", "internal/triage"}},
	{path: "internal/notify", imports: []string{"internal/model", "internal/index", "internal/queue", "internal/store"}},
	{path: "internal/globalsearch", imports: []string{"internal/model", "internal/advisory", "internal/index", "internal/store"}},
	{path: "internal/server", imports: adapters},
	{path: "internal/agent", imports: adapters},
	{path: "internal/web", imports: adapters},
	{path: "internal/oauth", imports: []string{"internal/model", "internal/auth", "internal/edge", "internal/store"}},
	{path: "internal/runner", imports: []string{"internal/model", "api", "internal/redact"}},
	{path: "internal/mcp", imports: []string{"internal/model", "api", "internal/auth", "internal/edge"}},
	{path: "cmd", imports: append([]string{"internal/keyring", "internal/runner", "internal/mcp", "internal/oauth", "internal/server", "internal/agent", "internal/web", "internal/demo", "internal/ci"}, adapters...), clock: true},

	{path: "internal/storetest", imports: []string{"internal/model", "internal/store"}, clock: true},
	{path: "internal/clienttest", stdOnly: true, clock: true},
	{path: "internal/conformance"}, // tests only, which may import any room
	{path: "internal/bench"},       // tests only too
	{path: "internal/house", stdOnly: true},
	{path: "internal/tools", imports: []string{"internal/model", "api", "internal/align"}, clock: true},
}

// confined lists imports, with the packages below them, that only the rooms named may use in code that is not a test.
var confined = []struct {
	path  string
	rooms []string
	why   string
}{
	{"net/http", []string{"api", "internal/server", "internal/agent", "internal/web", "internal/mcp", "internal/oauth", "internal/edge", "internal/scm", "internal/hosts", "internal/notify", "internal/runner", "cmd", "internal/clienttest", "internal/tools"}, "HTTP ends at the adapters"},
	{"database/sql", []string{"internal/store", "internal/storetest"}, "all SQL is in the store"},
	{"github.com/jackc/pgx", []string{"internal/store", "internal/storetest"}, "only the store knows the engine"},
	{"modernc.org/sqlite", []string{"internal/store", "internal/storetest"}, "only the store knows the engine"},
	{"github.com/pressly/goose", []string{"internal/store", "internal/storetest"}, "only the store knows the schema"},
	{"github.com/coreos/go-oidc", []string{"internal/auth"}, "how people are known is decided in one place"},
	{"golang.org/x/oauth2", []string{"internal/auth"}, "how people are known is decided in one place"},
	{"golang.org/x/crypto/argon2", []string{"internal/auth"}, "passwords are hashed in one place"},
	{"github.com/pquerna/otp", []string{"internal/auth"}, "how people are known is decided in one place"},
	{"github.com/go-webauthn/webauthn", []string{"internal/auth"}, "how people are known is decided in one place"},
	{"github.com/google/go-github", []string{"internal/scm"}, "the hosts' own types end there"},
	{"github.com/boombuler/barcode", []string{"internal/web"}, "only the pages draw"},
	{"github.com/yuin/goldmark", []string{"internal/web"}, "only the pages show Markdown"},
	{"github.com/danielgtaylor/huma", []string{"internal/server"}, "the library's types stay in the server"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/mcp", "cmd"}, "assistants are answered in one place"},
	{"github.com/wneessen/go-mail", []string{"internal/notify"}, "mail is sent in one place"},
	{"github.com/alecthomas/kong", []string{"cmd", "internal/config"}, "flags are read in one place"},
}

// roomOf finds the room of a package folder, or nil.
func roomOf(dir string) *room {
	for i := range rooms {
		if rooms[i].path == dir || within(dir, rooms[i].path) {
			return &rooms[i]
		}
	}
	return nil
}

// within tells whether a path is another one or below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}
