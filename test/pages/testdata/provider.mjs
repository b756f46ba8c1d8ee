// A real OpenID Connect provider for the tests: npm's oidc-provider, with its
// own development pages to sign in on. Every name that is typed in exists.
//   node provider.mjs MODULES PORT CLIENT_REDIRECT
// prints "ready" once it answers.
import { pathToFileURL } from 'node:url';

const [modules, port, redirect] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));

// ada@example.com+group1+group2 has these groups; a name with "unconfirmed" has no confirmed address.
function account(login) {
  const [email, ...groups] = login.split('+');
  return {
    accountId: login,
    claims: () => ({
      sub: login, email, email_verified: !login.includes('unconfirmed'), name: `Name of ${email}`,
      preferred_username: email.split('@')[0], groups,
    }),
  };
}

const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: 'redoubt', client_secret: 'a secret of the tests', redirect_uris: [redirect], grant_types: ['authorization_code'], response_types: ['code'] }],
  findAccount: (ctx, id) => account(id),
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
  pkce: { required: () => true },
  cookies: { keys: ['keys of the tests'] },
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
