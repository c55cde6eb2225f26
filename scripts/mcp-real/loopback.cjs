// Preloaded by tests (`node --require`): a server listens on a free port of 127.0.0.1 and prints it. Real servers listen on all
// addresses, on a port of their own.
const net = require('node:net');

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  const callback = args.find((arg) => typeof arg === 'function');
  return listen.call(this, 0, '127.0.0.1', () => {
    console.log(`LISTENING ${this.address().port}`);
    callback?.();
  });
};
