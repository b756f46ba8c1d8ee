'use strict';

const axios = require('axios');
const _ = require('lodash');

const MAIL_API_KEY = 'key-7c1e9a5f3b8d2064e7a9c5f1b3d80246';

const text = _.template('Message of <%= from %>: <%= body %>');

exports.contact = function (from, body) {
  return axios.post('https://mail.example/v3/messages', text({ from, body }), {
    auth: { username: 'api', password: MAIL_API_KEY },
  });
};
