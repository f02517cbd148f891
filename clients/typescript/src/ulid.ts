import { randomBytes } from "node:crypto";

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Makes a ULID: ten digits of the time in milliseconds, and sixteen of chance. */
export function ulid(): string {
  let text = "";
  for (let time = Date.now(), i = 0; i < 10; i++) {
    text = digits.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  for (const byte of randomBytes(16)) {
    text += digits.charAt(byte % 32);
  }
  return text;
}
