package web

// authorizePath is the page where a person lets an OAuth client in. The deployment
// is asked each time, as for a scanner.
const authorizePath = "/authorize"

// connectionsPath is the page of the connections to code hosts.
const connectionsPath = "/settings/connections"

// startPath is the page of the first start.
const startPath = "/start"

// invitationsPath lists what somebody is invited to.
const invitationsPath = "/invitations"

// One page approves requests for tokens. It has two addresses: approving a scanner needs the
// role triager, and programs print the second address for people to open.
const (
	// approvePath is for the scanners of semgrep login.
	approvePath = "/approve/{code}"
	// devicePath is for programs that ask by the device flow (RFC 8628), as redoubt
	// login does. Without a deployment before it, it is what they tell people to open.
	devicePath = "/device"
)

// notificationsPath is the page of the rules by which people are told.
const notificationsPath = "/settings/notifications"

// runnersPath is the page of the runners.
const runnersPath = "/settings/runners"

// secondFactorPath is where people set theirs up. It is below no deployment:
// one may ask for it before it shows anything.
const secondFactorPath = "/second-factor"

// tokensPath is the page of the tokens.
const tokensPath = "/settings/tokens"

// uploadPath is where people hand in reports.
const uploadPath = "/upload"

// usersPath is the page of the users.
const usersPath = "/settings/users"
