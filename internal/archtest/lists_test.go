package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// thirdParty is the page with the licenses of dependencies and of copied files.
const thirdParty = "internal/about/THIRD_PARTY.md"

// vocabulary lists the packages of shared types. They import the standard library only and may export many names.
var vocabulary = []string{"api", "internal/model"}

// areas lists the folders whose packages are independent of each other, and the packages that the others may import.
var areas = map[string][]string{
	"internal/apihttp": {"core", "files"},
	"internal/web":     {"ui", "component"},
}

// clockReaders lists the packages that may read the clock and the environment. Others have
// parameters.
var clockReaders = []string{"cmd", "internal/config", "internal/tools"}

// severalTenants lists functions with statements about several tenants, and the reason.
var severalTenants = map[string]string{
	"RecentDeployments": "chooses what to load first at a start; without an answer the server starts all the same",
	"Versions":          "is followed in the background; each reader requests the version of its own tenant",
	"foreignFaults":     "belongs to redoubt check, which reads everything",
	"updateJob":         "the first argument is the tenant",
}

// confined lists libraries and the packages that may import them, or packages below them, outside of tests.
var confined = []struct {
	library  string
	packages []string
	reason   string
}{
	{"net/http", []string{
		"api", "cmd", "internal/agent", "internal/apihttp", "internal/cli", "internal/embedded", "internal/hosts", "internal/httpx", "internal/mcp",
		"internal/notify", "internal/oauth", "internal/runner", "internal/scm", "internal/tools",
		"internal/updater", "internal/web",
	}, "use cases do not know HTTP"},
	{"database/sql", []string{"internal/store"}, "all SQL is in the store"},
	{modulePath + "/internal/store/sqldb", []string{"internal/store"}, "statements are in the store"},
	{"github.com/jackc/pgx", []string{"internal/store"}, "only the store knows the engine"},
	{"modernc.org/sqlite", []string{"internal/store"}, "only the store knows the engine"},
	{"github.com/pressly/goose", []string{"internal/store"}, "only the store knows the schema"},
	{"github.com/coreos/go-oidc", []string{"internal/auth"}, "authentication is in one place"},
	{"golang.org/x/oauth2", []string{"internal/auth"}, "authentication is in one place"},
	{"golang.org/x/crypto/argon2", []string{"internal/auth"}, "passwords are hashed in one place"},
	{"github.com/pquerna/otp", []string{"internal/auth"}, "authentication is in one place"},
	{"github.com/go-webauthn/webauthn", []string{"internal/auth"}, "authentication is in one place"},
	{"github.com/google/go-github", []string{"internal/scm"}, "other packages do not know the types of code hosts"},
	{"github.com/boombuler/barcode", []string{"internal/web"}, "only pages show images"},
	{"github.com/yuin/goldmark", []string{"internal/web"}, "only pages render Markdown"},
	{"github.com/danielgtaylor/huma", []string{"internal/apihttp"}, "other packages do not know the types of the library"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/mcp", "cmd"}, "the protocol is implemented in one place"},
	{"github.com/wneessen/go-mail", []string{"internal/notify"}, "mail is sent in one place"},
	{"github.com/alecthomas/kong", []string{"cmd", "internal/cli", "internal/config"}, "flags are parsed in one place"},
}

func TestListsNameExistingPackages(t *testing.T) {
	named := slices.Concat(vocabulary, clockReaders)
	for _, c := range confined {
		named = append(named, c.packages...)
	}
	for _, dir := range named {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Errorf("%v: remove or correct the entry in lists_test.go", err)
		}
	}
}
