package web

// settingsNav is what accountRoutes adds to the navigation.
var settingsNav = navGroup{"Settings", []navItem{
	{Label: "Tokens", Path: "/settings/tokens", Section: "tokens", least: viewer},
	{Label: "Users", Path: "/settings/users", Section: "users", least: admin},
	{Label: "Audit log", Path: "/settings/audit", Section: "audit", least: admin},
	{Label: "About", Path: "/settings/about", Section: "about", least: viewer},
}}

// accountRoutes are the rows about people: how they come in, and what they set.
func accountRoutes() []route {
	const settings = org + "/settings"
	return []route{
		{get, "/login", anyone, (*request).login},
		{post, "/login", anyone, (*request).enter},
		{get, "/login/oidc", anyone, (*request).goToProvider},
		{get, "/login/oidc/callback", anyone, (*request).comeFromProvider},
		{post, "/logout", anyone, (*request).leave},
		{get, "/setup/{code}", anyone, (*request).setup},
		{post, "/setup/{code}", anyone, (*request).useLink},
		{get, "/sign-in/{code}", anyone, (*request).enterByLink},

		{get, org + "/approve/{code}", triager, (*request).scannerWaits},
		{post, org + "/approve/{code}", triager, (*request).approveScanner},
		{get, org + "/account", viewer, (*request).account},
		{post, org + "/account/password", viewer, (*request).changePassword},
		{post, org + "/account/sessions/{id}/end", viewer, (*request).endSession},
		{post, org + "/account/sign-out", viewer, (*request).signOutEverywhere},

		{get, settings + "/tokens", viewer, (*request).tokens},
		{post, settings + "/tokens", viewer, (*request).createToken},
		{post, settings + "/tokens/{id}/revoke", viewer, (*request).revokeToken},
		{get, settings + "/users", admin, (*request).users},
		{post, settings + "/users", admin, (*request).createUser},
		{post, settings + "/users/{name}/role", admin, (*request).setUserRole},
		{post, settings + "/users/{name}/link", admin, (*request).resetUser},
		{post, settings + "/users/{name}/disable", admin, (*request).disableUser},
		{post, settings + "/users/{name}/enable", admin, (*request).enableUser},
		{get, settings + "/audit", admin, (*request).audit},
		{get, settings + "/about", viewer, (*request).about},
	}
}
