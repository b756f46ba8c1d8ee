package conformance

import (
	"encoding/base64"
	"math/rand/v2"
)

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz234567"
	hexDigits   = "0123456789abcdef"
	upperDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	letters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alnum       = letters + "0123456789"
)

// credentialKind generates credentials of one kind. Their fixed parts are concatenated, so that
// scanners of this repository do not detect them.
type credentialKind struct {
	name          string
	before, after string // around the random part
	random        func(r func(alphabet string, n int) string) string
}

// of returns a generator of n random characters.
func of(alphabet string, n int) func(func(string, int) string) string {
	return func(r func(string, int) string) string { return r(alphabet, n) }
}

// ours generates the random part of a Redoubt token.
func ours(r func(string, int) string) string { return r(lowerDigits, 52) + "_" + r(lowerDigits, 6) }

// basic generates the credentials of HTTP basic authentication.
func basic(r func(string, int) string) string {
	return base64.RawStdEncoding.EncodeToString([]byte("user:" + r(alnum, 19)))
}

// jwt generates the end of a JSON Web Token.
func jwt(r func(string, int) string) string { return r(alnum, 24) + "." + r(alnum, 24) }

// sendGrid generates the random part of a SendGrid key.
func sendGrid(r func(string, int) string) string { return r(alnum, 22) + "." + r(alnum, 43) }

// given generates a password that is recognizable only by the words before it.
func given(r func(string, int) string) string { return "p1-" + r(alnum, 14) }

var credentialKinds = []credentialKind{
	{"AWS key id", "AK" + "IA", "", of(upperDigits, 16)},
	{"AWS session key id", "AS" + "IA", "", of(upperDigits, 16)},
	{"AWS secret", "aws_secret_access" + "_key=", "", of(alnum, 40)},
	{"Google key", "AI" + "za", "", of(alnum, 35)},
	{"Google token", "ya29" + ".", "", of(alnum, 40)},
	{"Google client", "GOC" + "SPX-", "", of(alnum, 28)},
	{"Azure storage", "Account" + "Key=", "==", of(alnum, 86)},
	{"DigitalOcean", "dop_" + "v1_", "", of(hexDigits, 64)},
	{"Vault", "hv" + "s.", "", of(alnum, 28)},
	{"Redoubt token", "rd" + "t_1_", "", ours},
	{"Redoubt code", "rd" + "c_2s_", "", ours},
	{"Redoubt refresh token", "rd" + "r_1_", "", ours},
	{"GitHub", "gh" + "p_", "", of(alnum, 36)},
	{"GitHub OAuth", "gh" + "o_", "", of(alnum, 36)},
	{"GitHub fine-grained", "github" + "_pat_", "", of(alnum, 40)},
	{"GitLab", "gl" + "pat-", "", of(alnum, 20)},
	{"npm", "np" + "m_", "", of(alnum, 36)},
	{"PyPI", "pypi" + "-AgE", "", of(alnum, 60)},
	{"Docker Hub", "dckr" + "_pat_", "", of(alnum, 27)},
	{"Hugging Face", "hf" + "_", "", of(alnum, 34)},
	{"Slack", "xox" + "b-", "", of(alnum, 24)},
	{"Slack hook", "https://hooks.slack" + ".com/services/T0/B0/", "", of(alnum, 24)},
	{"Stripe", "sk" + "_live_", "", of(alnum, 24)},
	{"SendGrid", "S" + "G.", "", sendGrid},
	{"Anthropic", "sk" + "-ant-", "", of(alnum, 40)},
	{"Shopify", "shp" + "at_", "", of(hexDigits, 32)},
	{"Twilio", "S" + "K", "", of(hexDigits, 32)},
	{"Discord", "https://discord.com/api" + "/webhooks/123456789012345678/", "", of(alnum, 68)},
	{"JSON Web Token", "ey" + "JhbGciOiJIUzI1.ey" + "J", "", jwt},
	{"age", "AGE-SECRET" + "-KEY-1", "", of(upperDigits, 58)},
	{"private key", "-----BEGIN RSA PRIVATE" + " KEY-----\n", "\n-----END RSA PRIVATE" + " KEY-----", of(alnum, 64)},
	{"bearer", "Authorization: " + "Bearer ", "", of(alnum, 32)},
	{"basic", "Authorization: " + "Basic ", "", basic},
	{"cookie", "Coo" + "kie: session=s1-Qw8zRt5y", "", of(alnum, 20)},
	{"curl", "curl -sS -u " + "ci:", "", given},
	{"mysql", "mysqldump -h db " + "-p", "", given},
	{"sshpass", "sshpass " + "-p ", " ssh host", given},
	{"netrc", "machine git.example login ci " + "password ", "", given},
	{"pgpass", "db.internal:5432:shop" + ":app:", "", given},
	{"connection string", "Server=db;User Id=sa;" + "Password=", ";", given},
	{"signature", "https://blob.example/x?se=2030&" + "sig=", "", of(alnum, 43)},
	{"address", "https://" + "ci:", "@host.example/a/b", given},
}

// planter generates unique credentials of all kinds in rotation.
type planter struct {
	random  *rand.Rand
	planted map[string]string // by random part: kind and place
	head    map[string]string // by prefix: the random part
}

// headSize is the length of the prefixes, in bytes.
const headSize = 12

func newPlanter() *planter {
	return &planter{rand.New(rand.NewPCG(1, 2)), map[string]string{}, map[string]string{}} //nolint:gosec // tests repeat
}

// next generates a credential for a place.
func (p *planter) next(location string) string {
	kind := credentialKinds[len(p.planted)%len(credentialKinds)]
	part := kind.random(func(alphabet string, n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = alphabet[p.random.IntN(len(alphabet))]
		}
		return string(out)
	})
	p.planted[part] = kind.name + " in " + location
	p.head[part[:headSize]] = part
	return kind.before + part + kind.after
}

// left returns kind and place of the credentials in a text.
func (p *planter) left(text []byte) (left map[string]string) {
	left = map[string]string{}
	for i := 0; i+headSize <= len(text); i++ {
		if part, ok := p.head[string(text[i:i+headSize])]; ok {
			left[p.planted[part]] = string(text[max(0, i-120):min(len(text), i+60)])
		}
	}
	return left
}
