package ui

// AuthorizePath is the page where a person lets an OAuth client in. The deployment
// is asked each time, as for a scanner.
const AuthorizePath = "/authorize"

// ConnectionsPath is the page of the connections to code hosts.
const ConnectionsPath = "/settings/connections"

// StartPath is the page of the first start.
const StartPath = "/start"

// InvitationsPath lists what somebody is invited to.
const InvitationsPath = "/invitations"

// One page approves requests for tokens. It has two addresses: approving a scanner needs the
// role triager, and programs print the second address for people to open.
const (
	// ApprovePath is for the scanners of semgrep login.
	ApprovePath = "/approve/{code}"
	// DevicePath is for programs that ask by the device flow (RFC 8628), as redoubt
	// login does. Without a deployment before it, it is what they tell people to open.
	DevicePath = "/device"
)

// NotificationsPath is the page of the rules by which people are told.
const NotificationsPath = "/settings/notifications"

// RunnersPath is the page of the runners.
const RunnersPath = "/settings/runners"

// SecondFactorPath is where people set theirs up. It is below no deployment:
// one may ask for it before it shows anything.
const SecondFactorPath = "/second-factor"

// TokensPath is the page of the tokens.
const TokensPath = "/settings/tokens"

// UploadPath is where people hand in reports.
const UploadPath = "/upload"

// UsersPath is the page of the users.
const UsersPath = "/settings/users"
