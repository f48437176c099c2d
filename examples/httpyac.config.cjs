// httpYac calls a field of an answer {{email.id}}: with this it reads REST Client's
// {{email.response.body.$.id}} as well.
module.exports = {
  configureHooks({ hooks }) {
    hooks.onResponse.addHook('restClientReferences', ({ parsedBody: body }) => {
      if (body) Object.defineProperty(body, 'response', { value: { body: { $: body } } });
    });
  },
};
